"""Reading a person's own data: tables, folders of images, arrays, labels, hierarchies."""
